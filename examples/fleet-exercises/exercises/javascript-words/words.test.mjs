import assert from "node:assert/strict";
import { test } from "node:test";

import { countWords } from "./words.mjs";

test("1", () => assert.deepEqual(countWords("Go, go! Don't stop."), { go: 2, "don't": 1, stop: 1 }));
test("2", () => assert.deepEqual(countWords(""), {}));
