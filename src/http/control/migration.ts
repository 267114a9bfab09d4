import { isAbsolute } from 'node:path';
import { locationMembers, locationTextsOf } from './location-members.js';
import { ControlError, type ControlReply } from './reply.js';
import { membersOf, ok, type ControlRequest, type ControlRoute } from './route.js';

/** The target of a migration: a directory, or a database with a directory for large blobs. */
export interface MigrationGoal {
  /** Absolute. */
  readonly location: string;
  readonly postgresUrl?: string;
  readonly postgresSchema?: string;
}

/** The progress of a migration, or the outcome of the last one. */
export interface MigrationInfo {
  /** `done`: the target has the data, and this server answers requests with 503. */
  readonly state: 'running' | 'done' | 'cancelled' | 'failed';
  /** The target, for people. */
  readonly to: string;
  readonly phase: string;
  /** Bytes that the phase has gone through. */
  readonly done: number;
  readonly total?: number;
  /** Why the migration failed, or a temporary problem. */
  readonly problem?: string;
  /** How long writes waited in the end, in milliseconds. */
  readonly pauseMs?: number;
}

/** A refused request, which has changed nothing. The message says what to do. */
export class MigrationRefusal extends Error {
  override readonly name = 'MigrationRefusal';
}

/** Moves all data of a server to another place while it serves. */
export interface MigrationControl {
  /** Returns the running migration when it has the same target. Throws `MigrationRefusal`. */
  begin(goal: MigrationGoal): Promise<MigrationInfo>;
  /** Undefined: none was begun since the server was started. */
  readonly info: MigrationInfo | undefined;
  /**
   * False when the migration can no longer be cancelled, has ended, or does not exist. Resolves
   * when it has ended.
   */
  cancel(): Promise<boolean>;
}

export interface MigrationTarget {
  readonly migration: MigrationControl;
}

type Handler = (control: MigrationControl, request: ControlRequest) => Promise<ControlReply>;

function route(method: string, handler: Handler): ControlRoute<MigrationTarget> {
  return {
    methods: [method],
    path: ['migration'],
    async answer({ migration }, request) {
      try {
        return await handler(migration, request);
      } catch (error) {
        if (error instanceof MigrationRefusal) throw new ControlError(409, error.message);
        throw error;
      }
    },
  };
}

export const migrationRoutes: readonly ControlRoute<MigrationTarget>[] = [
  route('POST', async (control, request) => ({
    status: 202,
    body: await control.begin(goalOf(request)),
  })),
  route('GET', (control) => {
    const { info } = control;
    if (info === undefined) throw new ControlError(404, 'No migration was begun.');
    return Promise.resolve(ok(info));
  }),
  route('DELETE', async (control) => ok({ cancelled: await control.cancel() })),
];

function goalOf(request: ControlRequest): MigrationGoal {
  const given = locationTextsOf(membersOf(request, locationMembers));
  const { location, postgresUrl, postgresSchema } = given;
  if (location === undefined || !isAbsolute(location)) {
    throw new ControlError(400, 'location must be the absolute path of a directory.');
  }
  if (postgresSchema !== undefined && postgresUrl === undefined) {
    throw new ControlError(400, 'postgresSchema is for a postgresUrl.');
  }
  return {
    location,
    ...(postgresUrl !== undefined && { postgresUrl }),
    ...(postgresSchema !== undefined && { postgresSchema }),
  };
}
