// A file of sound becomes samples and their picture.

const COLUMNS = 1200;
const USUAL_RATE = 48000;

const waiting = new Map();
let worker = null;
let asked = 0;

export async function recording(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error("The recording does not exist.");
  const bytes = await response.arrayBuffer();
  const buffer = await decode(bytes);
  const { pixels, columns, rows } = await analysed(mono(buffer), buffer.sampleRate);
  return { buffer, picture: new ImageData(pixels, columns, rows), bytes: 4 * buffer.length * buffer.numberOfChannels };
}

// At the rate of the file: a browser's own rate would cut off what bats say.
async function decode(bytes) {
  let context;
  try {
    context = new OfflineAudioContext(1, 1, rateOf(new DataView(bytes)));
  } catch {
    context = new OfflineAudioContext(1, 1, USUAL_RATE);
  }
  return context.decodeAudioData(bytes);
}

// From the header of WAV, FLAC and Ogg Vorbis; others are decoded at the usual rate.
export function rateOf(view) {
  const word = (at) => String.fromCharCode(...new Uint8Array(view.buffer, at, 4));
  if (view.byteLength < 48) return USUAL_RATE;
  if (word(0) === "RIFF") {
    for (let at = 12; at + 16 < view.byteLength; at += 8 + view.getUint32(at + 4, true) + (view.getUint32(at + 4, true) % 2)) {
      if (word(at) === "fmt ") return view.getUint32(at + 12, true);
    }
  }
  if (word(0) === "fLaC") return view.getUint32(18) >>> 12;
  if (word(0) === "OggS" && word(29) === "vorb") return view.getUint32(40, true);
  return USUAL_RATE;
}

function mono(buffer) {
  const mixed = buffer.getChannelData(0).slice();
  for (let channel = 1; channel < buffer.numberOfChannels; channel += 1) {
    const other = buffer.getChannelData(channel);
    for (let i = 0; i < mixed.length; i += 1) mixed[i] += other[i];
  }
  return mixed;
}

function analysed(samples, rate) {
  if (!worker) {
    worker = new Worker("/static/spectrogram-worker.js", { type: "module" });
    worker.addEventListener("message", ({ data }) => {
      waiting.get(data.number)(data);
      waiting.delete(data.number);
    });
  }
  asked += 1;
  const number = asked;
  worker.postMessage({ number, samples, rate, columns: COLUMNS }, [samples.buffer]);
  return new Promise((resolve) => waiting.set(number, resolve));
}
