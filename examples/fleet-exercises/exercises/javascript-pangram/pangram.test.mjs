import assert from "node:assert/strict";
import { test } from "node:test";

import { isPangram } from "./pangram.mjs";

test("1", () => assert.deepEqual(isPangram("The quick brown fox jumps over the lazy dog"), true));
test("2", () => assert.deepEqual(isPangram("abc"), false));
test("3", () => assert.deepEqual(isPangram(""), false));
