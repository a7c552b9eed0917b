import assert from "node:assert/strict";
import { test } from "node:test";

import { rotate } from "./caesar.mjs";

test("1", () => assert.deepEqual(rotate("Hello, z!", 1), "Ifmmp, a!"));
test("2", () => assert.deepEqual(rotate("abc", -1), "zab"));
test("3", () => assert.deepEqual(rotate("abc", 52), "abc"));
