import { byteText } from '../base/byte-text.js';
import type { MigrationGoal, MigrationInfo } from '../http/control/migration.js';
import { ControlClient } from './client/control-client.js';
import { finalAnswer } from './client/retry.js';
import { CommandFailure } from './terminal/failure.js';
import { notice } from './terminal/notice.js';
import { quietMs, showProgress, type ProgressReport } from './terminal/progress.js';
import { printable } from './terminal/terminal.js';
import { timeLeft } from './terminal/time-left.js';

/**
 * Makes a server move its data, or finds that it does so already, and waits for the end. Throws
 * `UsageError` for what is refused, and `CommandFailure`.
 */
export async function migrateOnline(port: number, goal: MigrationGoal): Promise<void> {
  const server = clientOf(port);
  const shown = new MigrationProgress();
  try {
    await server.ask<MigrationInfo>('POST', 'migration', goal);
    const end = await finalAnswer(
      async () => {
        const info = await migrationOf(server);
        if (info.state === 'running') shown.update(info);
        return info;
      },
      ({ state }) => state !== 'running',
    );
    shown.stop();
    tell(end);
  } finally {
    shown.stop();
  }
}

async function migrationOf(server: ControlClient): Promise<MigrationInfo> {
  const info = await server.find<MigrationInfo>('migration');
  if (info !== undefined) return info;
  throw new CommandFailure('The server was started anew. Begin again: what was copied stays.');
}

/** Throws `CommandFailure` when no migration was cancelled. */
export async function cancelOnline(port: number): Promise<void> {
  const { cancelled } = await clientOf(port).ask<{ cancelled: boolean }>('DELETE', 'migration');
  if (!cancelled) {
    throw new CommandFailure('Nothing was called off: no migration runs, or it has gone too far.');
  }
  process.stdout.write('The migration was called off: the server has its data as before.\n');
}

function clientOf(port: number): ControlClient {
  return new ControlClient(port, 'or stop it and migrate without --online');
}

function tell({ state, to, problem, pauseMs = 0 }: MigrationInfo): void {
  if (state !== 'done') throw new CommandFailure(problem ?? 'The migration did not end.');
  process.stdout.write(
    `All data are in ${printable(to)}. Writes waited ${Math.ceil(pauseMs)} ms. The old server answers 503 from ` +
      'now on: start servers there, and stop it.\n',
  );
}

/** Shows one phase after the other. */
class MigrationProgress {
  #report: ProgressReport | undefined;
  #info: MigrationInfo | undefined;
  #told: string | undefined;

  update(info: MigrationInfo): void {
    const isAnother = info.phase !== this.#info?.phase;
    this.#info = info;
    if (isAnother) this.#begin(info);
    if (info.problem !== undefined && info.problem !== this.#told) notice(info.problem);
    this.#told = info.problem;
  }

  stop(): void {
    this.#report?.stop();
    this.#report = undefined;
  }

  #begin({ phase, total }: MigrationInfo): void {
    this.stop();
    const done = (): number => this.#info?.done ?? 0;
    const share = total === undefined ? undefined : () => done() / Math.max(1, total);
    const left = share && timeLeft(share);
    const facts = (): readonly string[] => {
      const bytes = done() > 0 ? [byteText(done())] : [];
      return [phase, ...bytes, ...(left === undefined ? [] : [left()])];
    };
    this.#report = showProgress({ stream: process.stderr, share, facts, quietMs });
  }
}
