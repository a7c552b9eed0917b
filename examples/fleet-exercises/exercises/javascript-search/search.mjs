export function find(sorted, value) {
  throw new Error("not implemented");
}
