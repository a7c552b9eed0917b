export function flatten(value) {
  return value.flat(Infinity).filter((each) => each !== null && each !== undefined);
}
