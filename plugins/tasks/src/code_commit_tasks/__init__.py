"""A task agent that answers in TypeScript, with a result or with a list of verified steps."""
