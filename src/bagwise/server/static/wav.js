// A WAV file of one channel of 16 bits becomes its samples, at its own rate: browsers would decode it to theirs.

const PCM = 1;

export function samplesOf(bytes, peak = 1) {
  const view = new DataView(bytes);
  const word = (at) => String.fromCharCode(...new Uint8Array(bytes, at, 4));
  if (bytes.byteLength < 12 || word(0) !== "RIFF" || word(8) !== "WAVE") throw new Error("This is not a WAV file.");
  let rate = null;
  for (let at = 12; at + 8 <= bytes.byteLength; ) {
    const size = view.getUint32(at + 4, true);
    if (word(at) === "fmt ") {
      const [format, channels, bits] = [view.getUint16(at + 8, true), view.getUint16(at + 10, true), view.getUint16(at + 22, true)];
      if (format !== PCM || channels !== 1 || bits !== 16) throw new Error("Only one channel of 16 bits is read.");
      rate = view.getUint32(at + 12, true);
    } else if (word(at) === "data") {
      const count = Math.min(size, bytes.byteLength - at - 8) >> 1;
      const samples = new Float32Array(count);
      for (let i = 0; i < count; i += 1) samples[i] = (view.getInt16(at + 8 + 2 * i, true) * peak) / 32767;
      return { samples, rate };
    }
    at += 8 + size + (size % 2);
  }
  throw new Error("This WAV file has no samples.");
}
