/** With another value of `synchronous_commit`, a promoted standby may lack acknowledged commits. */
export const durableCommits: readonly string[] = ['on', 'remote_apply'];

/**
 * Holds in SQL while the database acknowledges no commit before it has synced it. Its settings may
 * change under open connections, also between this statement and the commit of its transaction: so
 * `synchronous_commit` is set to itself until the transaction ends. The others cannot be set so.
 */
export const syncsCommits = `current_setting('fsync') = 'on'
  and current_setting('full_page_writes') = 'on'
  and set_config('synchronous_commit', current_setting('synchronous_commit'), true)
    in (${durableCommits.map((each) => `'${each}'`).join(', ')})`;
