"""What `slugs` promises. Run it: it names each promise that is broken, and exits with 1 if there is one."""

import sys

import slugs

CASES = [
    ("Hello World", {}, "hello-world"),
    ("  Spaces   everywhere ", {}, "spaces-everywhere"),
    ("C++ & Rust: a tale", {}, "c-rust-a-tale"),
]


def main() -> int:
    broken = 0
    for title, options, expected in CASES:
        got = slugs.slugify(title, **options)
        if got != expected:
            broken += 1
            print(f"BROKEN slugify({title!r}, {options}) is {got!r}, not {expected!r}")
    print(f"{len(CASES) - broken} of {len(CASES)} promises kept")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
