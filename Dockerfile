# code-commit for CI: slim Python, git, bash, bubblewrap and the command. No key is in it, and it runs without root.
#
#     docker build --tag code-commit .
#     docker run --rm --volume "$PWD:/project" --user "$(id -u):$(id -g)" --env GEMINI_API_KEY code-commit --query "…"
#
# EXTRAS are the providers and plugins: docker build --build-arg EXTRAS=openai,report …

FROM python:3.13-slim AS build
ARG EXTRAS=gemini,openai,anthropic,report
WORKDIR /source
# .dockerignore lets in what an installation needs.
COPY . .
RUN python -m venv /opt/code-commit \
    && /opt/code-commit/bin/pip install --no-cache-dir --disable-pip-version-check ".[$EXTRAS]"

FROM python:3.13-slim
# Debian keeps only the latest version of a package.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends bash bubblewrap git \
    && rm -rf /var/lib/apt/lists/*
# Any user of the host may run it, so everyone may write to its home.
RUN useradd --uid 1000 --home-dir /home/code-commit code-commit \
    && install --directory --mode=1777 /home/code-commit
COPY --from=build /opt/code-commit /opt/code-commit
ENV HOME=/home/code-commit PATH=/opt/code-commit/bin:$PATH
USER 1000
WORKDIR /project
ENTRYPOINT ["code-commit"]
