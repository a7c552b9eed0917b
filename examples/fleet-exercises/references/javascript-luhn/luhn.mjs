export function isValid(digits) {
  const plain = digits.replaceAll(" ", "");
  if (!/^\d{2,}$/.test(plain)) return false;
  let sum = 0;
  [...plain].reverse().forEach((digit, index) => {
    const value = Number(digit) * (index % 2 ? 2 : 1);
    sum += value > 9 ? value - 9 : value;
  });
  return sum % 10 === 0;
}
