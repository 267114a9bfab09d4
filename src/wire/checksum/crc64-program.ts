// Sums bytes in WebAssembly, because numbers of JavaScript have no 64 bits: in halves it took twice
// as long. The program is assembled here, instruction by instruction.

/** Bytes that one step takes, each through a table of its own. */
export const stride = 16;
const wordBytes = 8;
const words = stride / wordBytes;
const entries = 256;
const tableBytes = entries * wordBytes;

/**
 * A byte has the same part in the sum as one of the same value at each of these distances behind
 * it: the sum of `x ** -8d` over the distances is 1, modulo the polynomial. So bytes are added to
 * those behind them, sixteen at a time and without tables, until only the last ones are left. None
 * is so near that it meets bytes which the processor still has to write.
 */
export const distances = [1121, 1682, 1832, 1983, 2015, 2050, 2106, 2516] as const;
const farthest = Math.max(...distances);
const vectorBytes = 16;
/** Bytes that one round of the loop adds. */
const foldStride = 4 * vectorBytes;
/** The least length that can be folded. */
export const foldedMin = farthest + foldStride;

/**
 * The memory: the tables, zeros as the bytes before the first, the bytes to sum, and what is left
 * of them after folding.
 */
const zerosAt = stride * tableBytes;
export const bytesAt = zerosAt + Math.ceil(farthest / vectorBytes) * vectorBytes;
export const roomBytes = 64 * 1024;
const leftAt = bytesAt + roomBytes;
const leftBytes = farthest + foldStride + vectorBytes;
const pageBytes = 64 * 1024;
const pages = Math.ceil((leftAt + leftBytes) / pageBytes);

/** The members in use of a global object that the types of Node.js lack. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

type Code = readonly number[];

/** A number as the format has it: seven bits a byte, the lowest first, the last with its sign. */
function integer(value: number): Code {
  const bytes: number[] = [];
  for (let left = value; ; left >>= 7) {
    const byte = left & 0x7f;
    const isLast = (left === byte && byte < 0x40) || (left === byte - 0x80 && byte >= 0x40);
    bytes.push(isLast ? byte : byte | 0x80);
    if (isLast) return bytes;
  }
}

/** A length as the format has it: as a number, without a sign. */
function length(value: number): Code {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...length(value >>> 7)];
}

function list(items: readonly Code[]): Code {
  return [...length(items.length), ...items.flat()];
}

function sized(bytes: Code): Code {
  return [...length(bytes.length), ...bytes];
}

function section(id: number, items: readonly Code[]): Code {
  return [id, ...sized(list(items))];
}

const [int32, int64] = [0x7f, 0x7e];
const noResult = 0x40;
const end: Code = [0x0b];
const [toLoop, toBlock] = [0, 1];
const repeat: Code = [0x0c, toLoop];
const leaveIf: Code = [0x0d, toBlock];
const add32: Code = [0x6a];
const subtract32: Code = [0x6b];
const and32: Code = [0x71];
const shiftLeft32: Code = [0x74];
const isEqual32: Code = [0x46];
const isLess32: Code = [0x49];
const isAtLeast32: Code = [0x4f];
const low32: Code = [0xa7];
const xor64: Code = [0x85];
const shiftRight64: Code = [0x88];
const loadByte: Code = [0x31, 0, 0];
const store64: Code = [0x37, 3, 0];
const loadVector = (offset: number): Code => [0xfd, 0, 0, ...length(offset)];
const storeVector = (offset: number): Code => [0xfd, 11, 0, ...length(offset)];
const xorVector: Code = [0xfd, 81];
const copyMemory: Code = [0xfc, 10, 0, 0];
const fillMemory: Code = [0xfc, 11, 0];
const call = (program: number): Code => [0x10, program];
const const32 = (value: number): Code => [0x41, ...integer(value)];
const const64 = (value: number): Code => [0x42, ...integer(value)];
const load64 = (offset: number): Code => [0x29, 3, ...length(offset)];
const get = (local: number): Code => [0x20, local];
const set = (local: number): Code => [0x21, local];

function joined(...codes: readonly Code[]): Code {
  return codes.flat();
}

/** Runs the body until it leaves. */
function loop(...body: readonly Code[]): Code {
  return [0x02, noResult, 0x03, noResult, ...body.flat(), ...repeat, ...end, ...end];
}

/** The parameters, then the words of a step. */
const [sum, at, until, firstWord] = [0, 1, 2, 3];

/** The entry of a table for the byte of a word that has `bits` bits below it. */
function entry(table: number, word: number, bits: number): Code {
  const shifted = bits === 0 ? [] : [...const64(bits), ...shiftRight64];
  const place = [...const32(0xff), ...and32, ...const32(3), ...shiftLeft32];
  return [...get(word), ...shifted, ...low32, ...place, ...load64(table * tableBytes)];
}

function step(): Code {
  const code: number[] = [];
  for (let word = 0; word < words; word += 1) {
    code.push(...get(at), ...load64(word * wordBytes));
    if (word === 0) code.push(...get(sum), ...xor64);
    code.push(...set(firstWord + word));
  }
  // The table of the last byte is the first.
  for (let byte = 0; byte < stride; byte += 1) {
    const word = firstWord + Math.floor(byte / wordBytes);
    code.push(...entry(stride - 1 - byte, word, (byte % wordBytes) * 8));
    if (byte > 0) code.push(...xor64);
  }
  return [...code, ...set(sum)];
}

function byteStep(): Code {
  const mixed = [...get(sum), ...get(at), ...loadByte, ...xor64, ...set(firstWord)];
  const shifted = [...get(sum), ...const64(8), ...shiftRight64];
  return [...mixed, ...entry(0, firstWord, 0), ...shifted, ...xor64, ...set(sum)];
}

function advance(bytes: number): Code {
  return [...get(at), ...const32(bytes), ...add32, ...set(at)];
}

function sumBody(): Code {
  const isShort = [...get(until), ...get(at), ...subtract32, ...const32(stride), ...isLess32];
  const isDone = [...get(at), ...get(until), ...isEqual32];
  return [
    ...list([[words, int64]]),
    ...loop(isShort, leaveIf, step(), advance(stride)),
    ...loop(isDone, leaveIf, byteStep(), advance(1)),
    ...get(sum),
    ...end,
  ];
}

/** The locals of folding, behind its parameters: where the bytes are left, and how many. */
const [left, leftLength] = [3, 4];

/**
 * Adds the vectors at the distances before a place to the one on the stack. The place is `offset`
 * behind `at`, which is set back by the farthest distance.
 */
function addFarther(offset: number): Code {
  return distances.flatMap((distance) =>
    joined(get(at), loadVector(farthest - distance + offset), xorVector),
  );
}

/** Adds bytes to those behind them, in their place. */
function foldStep(): Code {
  const code: number[] = [];
  for (let offset = 0; offset < foldStride; offset += vectorBytes) {
    code.push(...get(at), ...get(at), ...loadVector(farthest + offset));
    code.push(...addFarther(offset), ...storeVector(farthest + offset));
  }
  return code;
}

/** Adds what was folded to the bytes that are left. */
function leftStep(): Code {
  return joined(get(left), get(left), loadVector(0), addFarther(0), storeVector(0));
}

function setBack(local: number): Code {
  return joined(get(local), const32(farthest), subtract32, set(local));
}

function foldBody(): Code {
  const begun = joined(get(at), get(at), load64(0), get(sum), xor64, store64);
  const folded = joined(get(until), get(at), subtract32, const32(farthest), subtract32);
  const whole = joined(folded, const32(-foldStride), and32);
  const parts = joined(
    joined(whole, get(at), add32, set(left)),
    joined(get(until), get(left), subtract32, set(leftLength)),
  );
  // Bytes that are left are not added to others: zeros take their place.
  const apart = joined(
    joined(const32(leftAt), get(left), get(leftLength), copyMemory),
    joined(get(left), const32(0), get(leftLength), fillMemory),
  );
  const isFolded = joined(get(at), get(left), isEqual32);
  const isOver = joined(get(at), get(until), isAtLeast32);
  const next = joined(get(left), const32(vectorBytes), add32, set(left));
  return joined(
    list([[2, int32]]),
    joined(begun, parts, apart),
    joined(setBack(at), setBack(left), setBack(until)),
    loop(isFolded, leaveIf, foldStep(), advance(foldStride)),
    joined(const32(leftAt), set(left)),
    loop(isOver, leaveIf, leftStep(), advance(vectorBytes), next),
    joined(const64(0), const32(leftAt), const32(leftAt), get(leftLength), add32),
    call(sumProgram),
    end,
  );
}

function exported(name: string, kind: number, index = 0): Code {
  return [...sized([...Buffer.from(name)]), kind, index];
}

const [sumProgram, foldProgram] = [0, 1];

function program(): Uint8Array {
  const type = [0x60, ...list([[int64], [int32], [int32]]), ...list([[int64]])];
  const [asFunction, asMemory] = [0, 2];
  return Uint8Array.from([
    ...Buffer.from('\0asm'),
    1,
    0,
    0,
    0,
    ...section(1, [type]),
    ...section(3, [[0], [0]]),
    ...section(5, [[0, ...length(pages)]]),
    ...section(7, [
      exported('sum', asFunction, sumProgram),
      exported('fold', asFunction, foldProgram),
      exported('memory', asMemory),
    ]),
    ...section(10, [sized(sumBody()), sized(foldBody())]),
  ]);
}

export interface Crc64Program {
  /** The memory: the tables, then the bytes to sum. */
  readonly memory: Uint8Array;
  /** The sum of the bytes from `at` to before `end` in the memory, begun with another sum. */
  readonly sum: (sum: bigint, at: number, end: number) => bigint;
  /** The same of at least `foldedMin` bytes from `bytesAt` on, which it changes. */
  readonly fold: (sum: bigint, at: number, end: number) => bigint;
}

/** Assembles the program. The tables are empty. */
export function crc64Program(): Crc64Program {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(program()));
  const { memory, ...programs } = exports as Pick<Crc64Program, 'sum' | 'fold'> & {
    readonly memory: { readonly buffer: ArrayBuffer };
  };
  return { memory: new Uint8Array(memory.buffer), sum: programs.sum, fold: programs.fold };
}
