def groups(words: list[str]) -> list[list[str]]:
    anagrams: dict[str, list[str]] = {}
    for word in words:
        anagrams.setdefault("".join(sorted(word)), []).append(word)
    return list(anagrams.values())
