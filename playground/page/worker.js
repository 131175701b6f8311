// Runs the simulator beside the page. After a panic the next request has a new module.
let made, module;
const asked = (text) => {
  made = made || new WebAssembly.Instance(module, {});
  const { memory, input, call, output, panicked } = made.exports;
  const read = (length) => new TextDecoder().decode(new Uint8Array(memory.buffer, output(), length));
  try {
    const bytes = new TextEncoder().encode(text);
    // A view of the memory is void once the memory grows.
    const at = input(bytes.length);
    new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
    return read(call(bytes.length));
  } catch (trap) {
    made = undefined;
    let why = "";
    try { why = read(panicked()); } catch { /* Not even that works, such as without memory. */ }
    return JSON.stringify({ error: why || `The simulator has ended: ${trap}` });
  }
};
onmessage = ({ data }) => {
  if (data.module) module = data.module;
  else postMessage({ id: data.id, answer: asked(data.text) });
};
