import { readFileSync, statSync } from 'node:fs';

/** A part of a file that this process has mapped. */
export interface FileMap {
  readonly address: number;
  readonly bytes: number;
  /** Where the part begins in the file. */
  readonly offset: number;
  readonly inode: number;
  /** Major and minor number of the device, in hexadecimal digits. */
  readonly device: string;
}

const line = /^([0-9a-f]+)-([0-9a-f]+) r\S* ([0-9a-f]+) ([0-9a-f]+:[0-9a-f]+) (\d+)/;

/** The maps of readable files of this process; none where the system does not tell them. */
function fileMaps(): readonly FileMap[] {
  return mapsText()
    .split('\n')
    .flatMap((text): FileMap[] => {
      const [, start, end, offset, device = '', inode] = line.exec(text) ?? [];
      if (start === undefined || end === undefined || offset === undefined) return [];
      const address = Number.parseInt(start, 16);
      const bytes = Number.parseInt(end, 16) - address;
      return [
        { address, bytes, offset: Number.parseInt(offset, 16), inode: Number(inode), device },
      ];
    })
    .filter(({ inode, address }) => inode !== 0 && Number.isSafeInteger(address));
}

/** Empty on other systems, without `/proc`, and when no file can be opened. */
function mapsText(): string {
  if (process.platform !== 'linux') return '';
  try {
    return readFileSync('/proc/self/maps', 'latin1');
  } catch {
    return '';
  }
}

/** The map of a file that holds an address of this process, if that begins with the file. */
export function mapAt(address: number): FileMap | undefined {
  return fileMaps().find(
    (map) => map.offset === 0 && map.address <= address && address < map.address + map.bytes,
  );
}

/**
 * The map of the beginning of a file. Some file systems tell another device in maps than of the
 * file, so the device only decides between files of one inode number.
 */
export function mapOfFile(path: string): FileMap | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  const maps = fileMaps().filter(({ inode, offset }) => inode === stats?.ino && offset === 0);
  if (maps.length <= 1 || stats === undefined) return maps[0];
  const own = maps.filter(({ device }) => numberOfDevice(device) === stats.dev);
  return own.length === 1 ? own[0] : undefined;
}

/** As `stat` has it: the minor number around the major one. */
function numberOfDevice(device: string): number {
  const [major = 0, minor = 0] = device.split(':').map((digits) => Number.parseInt(digits, 16));
  return (minor & 0xff) + major * 0x100 + (minor >>> 8) * 0x10_0000;
}
