def transpose(rows: list[list[int]]) -> list[list[int | None]]:
    raise NotImplementedError
