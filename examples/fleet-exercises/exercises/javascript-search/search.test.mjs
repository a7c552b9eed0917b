import assert from "node:assert/strict";
import { test } from "node:test";

import { find } from "./search.mjs";

test("1", () => assert.deepEqual(find([1, 3, 5, 7], 5), 2));
test("2", () => assert.deepEqual(find([1, 3, 5, 7], 4), -1));
test("3", () => assert.deepEqual(find([], 1), -1));
test("4", () => assert.deepEqual((() => { let looks = 0; const array = new Proxy(Array.from({ length: 4096 }, (_, i) => i), { get(target, name) { looks += /^\d+$/.test(String(name)); return target[name]; } }); return [find(array, 4000), looks < 30]; })(), [4000, true]));
