from itertools import zip_longest


def transpose(rows: list[list[int]]) -> list[list[int | None]]:
    return [list(column) for column in zip_longest(*rows)]
