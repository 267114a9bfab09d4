import type { Model } from './checker.js';

export type LogInput =
  | {
      readonly kind: 'append';
      readonly letter: string;
      readonly at: number | undefined;
      readonly lease: string | undefined;
    }
  | { readonly kind: 'acquire' | 'release'; readonly lease: string }
  | { readonly kind: 'read' };

export type LogOutput =
  | { readonly kind: 'appended'; readonly offset: number }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'done' }
  | { readonly kind: 'refused'; readonly code: string };

export interface Log {
  readonly text: string;
  /** The lease that never ends; '' without one. */
  readonly lease: string;
}

/** An append blob of single letters, under leases. */
export const logModel: Model<Log, LogInput, LogOutput> = {
  initial: { text: '', lease: '' },
  step(state, input, output) {
    const next = logStep(state, input);
    if (output === undefined) return next.state === state ? [state] : [state, next.state];
    return JSON.stringify(next.output) === JSON.stringify(output) ? [next.state] : [];
  },
  textOf: ({ text, lease }) => `${text} ${lease}`,
};

interface LogStep {
  readonly state: Log;
  readonly output: LogOutput;
}

function logStep(state: Log, input: LogInput): LogStep {
  const { text, lease } = state;
  const refused = (code: string): LogStep => ({ state, output: { kind: 'refused', code } });
  switch (input.kind) {
    case 'read':
      return { state, output: { kind: 'text', text } };
    case 'acquire':
      if (lease !== '' && lease !== input.lease) return refused('LeaseAlreadyPresent');
      return { state: { text, lease: input.lease }, output: { kind: 'done' } };
    case 'release':
      if (lease !== input.lease) return refused('LeaseIdMismatchWithLeaseOperation');
      return { state: { text, lease: '' }, output: { kind: 'done' } };
    default:
      if (input.lease === undefined && lease !== '') return refused('LeaseIdMissing');
      if (input.lease !== undefined && lease === '') {
        return refused('LeaseNotPresentWithBlobOperation');
      }
      if (input.lease !== undefined && input.lease !== lease) {
        return refused('LeaseIdMismatchWithBlobOperation');
      }
      if (input.at !== undefined && input.at !== text.length) {
        return refused('AppendPositionConditionNotMet');
      }
      return {
        state: { text: text + input.letter, lease },
        output: { kind: 'appended', offset: text.length },
      };
  }
}

export type CommitInput =
  | { readonly kind: 'commit'; readonly block: string; readonly ifMatch: string | undefined }
  | { readonly kind: 'read' };

/** Texts of ETags have one length, and are in the order of the writes. */
export type CommitOutput =
  | { readonly kind: 'is'; readonly block: string; readonly etag: string }
  | { readonly kind: 'refused' };

export interface Committed {
  readonly block: string;
  /** Grows with each commit. */
  readonly etag: string;
  /** The answer with the ETag was lost: it is later than `etag`, and nobody knows it. */
  readonly isLater?: boolean;
}

/** A block blob that each commit makes of another block, on a condition or without one. */
export function commitModel(initial: Committed): Model<Committed, CommitInput, CommitOutput> {
  return {
    initial,
    step(state, input, output) {
      const { block, etag, isLater = false } = state;
      if (input.kind === 'read') {
        if (output === undefined) return [state];
        if (output.kind !== 'is' || output.block !== block) return [];
        const isSame = isLater ? output.etag > etag : output.etag === etag;
        return isSame ? [{ block, etag: output.etag }] : [];
      }
      const isMet = input.ifMatch === undefined || (!isLater && input.ifMatch === etag);
      if (output === undefined) {
        return isMet ? [state, { block: input.block, etag, isLater: true }] : [state];
      }
      if (output.kind === 'refused') return isMet ? [] : [state];
      const isNext = isMet && output.etag > etag && output.block === input.block;
      return isNext ? [{ block: output.block, etag: output.etag }] : [];
    },
    textOf: ({ block, etag, isLater = false }) => `${block} ${etag}${isLater ? '+' : ''}`,
  };
}
