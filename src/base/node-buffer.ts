// Refers to `Buffer` through globalThis, because this code also runs where it does not exist.

export interface NodeBuffer extends Uint8Array {
  toString(encoding?: "base64" | "latin1", start?: number, end?: number): string;
  write(text: string, offset: number, encoding: "base64" | "latin1"): number;
  subarray(start?: number, end?: number): NodeBuffer;
}

export interface NodeBuffers {
  allocUnsafeSlow(length: number): NodeBuffer;
  byteLength(text: string): number;
  from(text: string, encoding: "base64"): NodeBuffer;
  from(buffer: ArrayBufferLike, offset: number, length: number): NodeBuffer;
}

/** Undefined in browsers. */
export const nodeBuffer = (globalThis as { Buffer?: NodeBuffers }).Buffer;
