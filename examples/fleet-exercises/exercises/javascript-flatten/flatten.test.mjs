import assert from "node:assert/strict";
import { test } from "node:test";

import { flatten } from "./flatten.mjs";

test("1", () => assert.deepEqual(flatten([1, [2, [3, null, [4]]], undefined]), [1, 2, 3, 4]));
test("2", () => assert.deepEqual(flatten([]), []));
test("3", () => assert.deepEqual(flatten([[0, false]]), [0, false]));
