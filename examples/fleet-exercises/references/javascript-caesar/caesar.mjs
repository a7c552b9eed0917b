export function rotate(text, key) {
  return text.replace(/[a-z]/gi, (letter) => {
    const base = letter < "a" ? 65 : 97;
    return String.fromCharCode(((((letter.charCodeAt(0) - base + key) % 26) + 26) % 26) + base);
  });
}
