import assert from "node:assert/strict";
import { test } from "node:test";

import { distance } from "./hamming.mjs";

test("1", () => assert.deepEqual(distance("GAGCCT", "CATCGT"), 3));
test("2", () => assert.deepEqual(distance("", ""), 0));
test("3", () => assert.deepEqual((() => { try { distance("a", ""); } catch (error) { return error instanceof RangeError; } })(), true));
