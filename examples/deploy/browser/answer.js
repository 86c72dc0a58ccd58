// Predict with an exported file in a browser, with onnxruntime-web.

import * as ort from "./node_modules/onnxruntime-web/dist/ort.wasm.min.mjs";

const NO_INTEGER = -(2n ** 63n); // a missing integer or time

// One value as the file expects it; null is a missing value.
const VALUES = {
  // numbers; booleans as 0 and 1
  float64: (given) => (given === null ? NaN : Number(given)),
  // integer categories; times as whole seconds
  int64: (given) => {
    if (given === null) return NO_INTEGER;
    return BigInt(given instanceof Date ? Math.trunc(given.getTime() / 1000) : given);
  },
  // text categories
  string: (given) => (given === null ? "" : String(given).trim()),
};
const ARRAYS = { float64: Float64Array, int64: BigInt64Array, string: Array };

export class Answerer {
  static async load(path) {
    ort.env.wasm.numThreads = 1; // networks of this size gain nothing from more
    const options = { executionProviders: ["wasm"] };
    return new Answerer(await ort.InferenceSession.create(path, options));
  }

  constructor(session) {
    this.session = session;
  }

  // Takes rows as objects by column name; returns { label, probabilities } for each.
  async answer(rows) {
    const inputs = {};
    for (const { name, type } of this.session.inputMetadata) {
      const values = ARRAYS[type].from(rows, (row) => {
        if (!(name in row)) throw new Error(`a row must have ${name}, if only as null`);
        return VALUES[type](row[name]);
      });
      inputs[name] = new ort.Tensor(type, values, [rows.length, 1]);
    }
    const { label, probabilities } = await this.session.run(inputs);
    const [, classes] = probabilities.dims;
    return rows.map((_, row) => ({
      label: label.data[row],
      probabilities: [...probabilities.data.slice(row * classes, (row + 1) * classes)],
    }));
  }
}
