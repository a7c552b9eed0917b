from itertools import groupby


def encode(text: str) -> list[tuple[str, int]]:
    return [(letter, len(list(group))) for letter, group in groupby(text)]


def decode(runs: list[tuple[str, int]]) -> str:
    return "".join(letter * count for letter, count in runs)
