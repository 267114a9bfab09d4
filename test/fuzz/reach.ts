/**
 * What a request shows of who sends it, and what follows from that.
 *
 * - `none`: may neither see nor change what is guarded.
 * - `see`: may see it and not change it.
 * - `all`: may do both, and is therefore not sent there.
 *
 * What another account holds, nobody may see or change.
 */
export type Reach = 'none' | 'see' | 'all';
