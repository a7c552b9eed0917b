export function rotate(text, key) {
  throw new Error("not implemented");
}
