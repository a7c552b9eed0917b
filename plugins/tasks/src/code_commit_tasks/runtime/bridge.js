// The main module of an agent's process. It imports the answer, calls its function, and carries tool calls to the host.
//
// A line of this protocol begins with U+001E, so that nothing the answer prints is taken for one by accident. The answer
// runs in this realm and can forge such lines: to the host each is a request to be judged, and a result no more than a
// claim.
//
// From here: {kind: "ready"}, {kind: "call", id, tool, given}, {kind: "returned", value}, {kind: "failed", name, text}.
// From the host, first {answer, functions: [{name, parameters, json}]}, then {id, text} or {id, error} for each call.

const { stdin, stdout, inspect, exit } = Deno;
const { parse, stringify } = JSON;
const encoder = new TextEncoder();
const waiting = new Map();
const lines = readLines();
let listening = false;
let count = 0;

function send(message) {
  const bytes = encoder.encode(`\u001e${stringify(message)}\n`);
  for (let at = 0; at < bytes.length;) at += stdout.writeSync(bytes.subarray(at));
}

async function* readLines() {
  const decoder = new TextDecoder();
  const chunk = new Uint8Array(64 * 1024);
  let pieces = [];
  for (;;) {
    const size = await stdin.read(chunk);
    if (size === null) exit(1); // the host is gone
    const parts = decoder.decode(chunk.subarray(0, size), { stream: true }).split("\n");
    pieces.push(parts[0]);
    for (const part of parts.slice(1)) {
      yield parse(pieces.join(""));
      pieces = [part];
    }
  }
}

// Listens only while an answer is due: a promise that nothing can settle then ends the process at once.
async function listen() {
  if (listening) return;
  listening = true;
  while (waiting.size > 0) {
    const { value } = await lines.next();
    const call = waiting.get(value.id);
    waiting.delete(value.id);
    if (value.error === undefined) call?.resolve(value.text);
    else call?.reject(new Error(value.error));
  }
  listening = false;
}

function callable({ name, parameters, json }) {
  return async function (...values) {
    const given = namedArguments(name, parameters, values);
    const id = ++count;
    const answered = new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
    send({ kind: "call", id, tool: name, given });
    listen();
    const text = await answered;
    return json ? parse(text) : text;
  };
}

// Arguments come in the order of the declaration, or as one object that names them.
function namedArguments(tool, parameters, values) {
  const [first] = values;
  const isNamed = values.length === 1 && typeof first === "object" && first !== null && !Array.isArray(first) &&
    Object.keys(first).every((key) => parameters.includes(key));
  if (isNamed) return first;
  if (values.length > parameters.length) {
    throw new TypeError(`${tool} takes ${parameters.length} arguments, not ${values.length}`);
  }
  return Object.fromEntries(
    parameters.map((parameter, index) => [parameter, values[index]]).filter(([, value]) => value !== undefined),
  );
}

// The answer may call its function itself, which is then the call. Calls with arguments are the function's own.
function once(called) {
  let first;
  return function (...values) {
    if (values.length > 0) return called.apply(this, values);
    if (first === undefined) {
      first = (async () => called.call(this))();
      first.catch(() => {}); // it is reported when the host's call ends
    }
    return first;
  };
}

function failure(error) {
  const isError = error instanceof Error;
  const text = isError ? `${error.name}: ${error.message}` : inspect(error);
  return { kind: "failed", name: isError ? error.name : "", text, stack: isError ? String(error.stack) : "" };
}

send({ kind: "ready" });
const { value: { answer, functions } } = await lines.next();
for (const each of functions) {
  Object.defineProperty(globalThis, each.name, { value: callable(each), configurable: true, writable: true });
}
const key = Symbol.for("agent_code");
globalThis[Symbol.for("agent_code.once")] = (called) => typeof called === "function" ? once(called) : called;
try {
  await import(answer);
  if (typeof globalThis[key] !== "function") throw new TypeError("the answer has no function agent_code");
  send({ kind: "returned", value: await globalThis[key]() });
} catch (error) {
  send(failure(error));
}
