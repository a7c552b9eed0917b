export function isPangram(text) {
  const letters = new Set(text.toLowerCase());
  return [..."abcdefghijklmnopqrstuvwxyz"].every((letter) => letters.has(letter));
}
