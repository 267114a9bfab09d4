import { readFileSync, statSync } from 'node:fs';

/** A part of a file that this process has mapped. */
export interface FileMap {
  readonly address: number;
  readonly bytes: number;
  /** Where the part begins in the file. */
  readonly offset: number;
  readonly inode: number;
}

const line = /^([0-9a-f]+)-([0-9a-f]+) r\S* ([0-9a-f]+) \S+ (\d+)/;

/** The maps of readable files of this process; none where the system does not tell them. */
function fileMaps(): readonly FileMap[] {
  if (process.platform !== 'linux') return [];
  return readFileSync('/proc/self/maps', 'latin1')
    .split('\n')
    .flatMap((text): FileMap[] => {
      const [, start, end, offset, inode] = line.exec(text) ?? [];
      if (start === undefined || end === undefined || offset === undefined) return [];
      const address = Number.parseInt(start, 16);
      const bytes = Number.parseInt(end, 16) - address;
      return [{ address, bytes, offset: Number.parseInt(offset, 16), inode: Number(inode) }];
    })
    .filter(({ inode, address }) => inode !== 0 && Number.isSafeInteger(address));
}

/** The map of a file that holds an address of this process, if that begins with the file. */
export function mapAt(address: number): FileMap | undefined {
  return fileMaps().find(
    (map) => map.offset === 0 && map.address <= address && address < map.address + map.bytes,
  );
}

/** The only map of the beginning of a file. */
export function mapOfFile(path: string): FileMap | undefined {
  const { ino } = statSync(path);
  const [map, ...others] = fileMaps().filter(({ inode, offset }) => inode === ino && offset === 0);
  return others.length === 0 ? map : undefined;
}
