// What was in the account of a recording when it began, left there by recordings before it.

/** Tables that a recording finds. */
const tablesBefore = new Map([
  ['test_table.test_list_tables_with_num_results', numbered('listtable', '3f561007')],
  ['test_table.test_query_tables', numbered('listtable', 'cac14c3')],
  ['test_table.test_query_tables_with_filter', numbered('listtable', 'cac14c3')],
  ['test_table_aad.test_query_user_filter', ['uttable93571220']],
  ['test_table_async.test_list_tables_with_num_results', numbered('listtable', 'a9041284')],
  ['test_table_entity_async.test_delete_entity_not_existing', ['uttable58771a5a']],
  ['test_table_entity_async.test_query_injection', ['uttable9abb1246']],
]);

function numbered(name, suffix) {
  return [0, 1, 2, 3].map((number) => `${name}${number}${suffix}`);
}

/** Requests that make the state from which a recording begins. */
export function stateBefore({ name, interactions }) {
  const first = requestAt(interactions[0]);
  const tables = (tablesBefore.get(name) ?? []).map((table) =>
    Object.assign({}, first, { method: 'POST', path: '/Tables', body: tableBody(table) }),
  );
  return [...tables, ...propertiesBefore(interactions)];
}

function tableBody(name) {
  return JSON.stringify({ TableName: name });
}

function requestAt({ headers }) {
  const kept = [...headers].filter(([name]) => ['x-ms-date', 'x-ms-version'].includes(name));
  const accept = ['accept', 'application/json;odata=nometadata'];
  const type = ['content-type', 'application/json'];
  return {
    headers: new Map([...kept, accept, type]),
    query: '',
    answer: { status: 200, body: '' },
  };
}

const parts = ['Logging', 'HourMetrics', 'MinuteMetrics', 'Cors'];

/**
 * The first answer about service properties shows what the requests before it have set, and beside
 * it what was set before.
 */
function propertiesBefore(interactions) {
  const isAbout = ({ query }) => query.includes('comp=properties');
  const shown = interactions.find((each) => isAbout(each) && each.method === 'GET');
  if (shown === undefined) return [];
  const set = interactions
    .slice(0, interactions.indexOf(shown))
    .filter((each) => isAbout(each) && each.method === 'PUT')
    .map(({ body }) => body)
    .join('');
  const left = parts.filter((part) => !set.includes(`<${part}`));
  const elements = left.map(
    (part) => new RegExp(`<${part}(?: />|>.*</${part}>)`, 's').exec(shown.answer.body)?.[0] ?? '',
  );
  const body = `<StorageServiceProperties>${elements.join('')}</StorageServiceProperties>`;
  const { path, query } = shown;
  return [{ ...requestAt(shown), method: 'PUT', path, query, body }];
}
