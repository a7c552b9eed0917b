import assert from "node:assert/strict";
import { test } from "node:test";

import { isValid } from "./luhn.mjs";

test("1", () => assert.deepEqual(isValid("4539 3195 0343 6467"), true));
test("2", () => assert.deepEqual(isValid("8273 1232 7352 0569"), false));
test("3", () => assert.deepEqual(isValid("0"), false));
test("4", () => assert.deepEqual(isValid("00"), true));
test("5", () => assert.deepEqual(isValid("a1"), false));
