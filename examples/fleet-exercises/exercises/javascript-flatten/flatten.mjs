export function flatten(value) {
  throw new Error("not implemented");
}
