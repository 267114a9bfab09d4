/** What a credential may allow, as the letters and roles of the protocol name it. */
export type Permission =
  'read' | 'write' | 'delete' | 'list' | 'add' | 'create' | 'update' | 'process';

/** What an operation touches: a container is a table or a queue, an object an entity or message. */
export type Scope = 'service' | 'container' | 'object';
