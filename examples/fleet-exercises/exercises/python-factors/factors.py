def prime_factors(number: int) -> list[int]:
    raise NotImplementedError
