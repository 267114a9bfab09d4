import { readdirSync, readFileSync } from 'node:fs';
import { hasNotEnded } from '../support/process-states.js';

/** Set in the environment of every process of a world and so of its children. */
export const worldVariable = 'TABULARIUM_TEST_WORLD';

/** Ids of the living processes of a world. Only Linux shows them; elsewhere the result is empty. */
export function processesOf(world: string): number[] {
  return allProcesses().filter((pid) => {
    const isOfWorld = read(pid, 'environ').includes(`${worldVariable}=${world}\0`);
    return isOfWorld && hasNotEnded(read(pid, 'status'));
  });
}

/** Ids of living children that are programs of Node, as workers are. */
export function workersOf(pid: number): number[] {
  return allProcesses().filter((each) => {
    const status = read(each, 'status');
    return parentIn(status) === pid && hasNotEnded(status) && isNode(each);
  });
}

/** Resident memory of a process in bytes. */
export function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(read(pid, 'status'))?.[1] ?? 0) * 1024;
}

function parentIn(status: string): number {
  return Number(/^PPid:\s+(\d+)/m.exec(status)?.[1] ?? 0);
}

function isNode(pid: number): boolean {
  return read(pid, 'cmdline').startsWith(process.execPath);
}

function allProcesses(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/** Empty when the process is gone. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
