const highStep = 0x1_0000_0000;

/** A safe integer that is not negative, in 8 bytes, little endian. */
export function writeWhole(bytes: Buffer, whole: number, at: number): void {
  bytes.writeUInt32LE(whole % highStep, at);
  bytes.writeUInt32LE(Math.floor(whole / highStep), at + 4);
}

export function readWhole(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * highStep;
}
