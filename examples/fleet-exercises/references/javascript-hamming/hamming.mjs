export function distance(a, b) {
  if (a.length !== b.length) throw new RangeError("the lengths differ");
  return [...a].filter((letter, index) => letter !== b[index]).length;
}
