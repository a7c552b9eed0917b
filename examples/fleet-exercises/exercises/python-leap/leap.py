def is_leap(year: int) -> bool:
    raise NotImplementedError
