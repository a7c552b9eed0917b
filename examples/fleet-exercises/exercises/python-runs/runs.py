def encode(text: str) -> list[tuple[str, int]]:
    raise NotImplementedError


def decode(runs: list[tuple[str, int]]) -> str:
    raise NotImplementedError
