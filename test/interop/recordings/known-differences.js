const later = 'what was set is good within 30 seconds there, and at once here';
const role = 'the role of the token was not yet good in the cloud';

/**
 * Where an answer is not the recorded one: the request, what is answered instead (its status and
 * code, or a digest of its body), and why.
 */
export const knownDifferences = [
  { place: 'test_table.test_create_properties#3', ours: '9dd8832f4397', why: later },
  { place: 'test_table.test_create_properties#5', ours: 'b1f3320c984d', why: later },
  { place: 'test_table_aad.test_query_user_filter#1', ours: '201', why: role },
  { place: 'test_table_aad_async.test_insert_entity_dictionary#1', ours: '201', why: role },
  {
    place: 'test_table_batch.test_new_invalid_key#0',
    ours: '0b10baefa0a7',
    why: 'signatures that do not match are refused in XML, as other recordings have it',
  },
];
