import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readRepositoryFile } from './support/repository-files.js';
import { boundsOf, textsOf, valueOf } from './support/written-bounds.js';

// docs/reference/limits.md names every limit of the server and its commands that users can reach. A
// constant whose name ends with Max is such a limit, or is listed below as none.

const page = readRepositoryFile('docs/reference/limits.md');
/** The rows of tables and the paragraphs, each joined into one line. */
const lines = page
  .split('\n\n')
  .flatMap((part) => (part.startsWith('|') ? part.split('\n') : [part.replaceAll('\n', ' ')]));

/** Constants by name, each with words of the line that has its value. */
const documented: Readonly<Record<string, string>> = {
  storesMax: 'the home store included',
  rangesMax: 'ranges of partitions',
  operationsMax: 'operations on ranges that are not over',
  dirtyRowsMax: 'writes that come while a move or a backup copies',
  accountNameLengthMax: 'name of an account',
  uploadBlockBytesMax: 'bytes of one block',
  uploadFilesMax: 'files of one command',
  accountsMax: 'server makes for itself',
  atWorkMax: 'eight at work',
  attemptsMax: 'tries of one write',
  bodyBytesMax: ' bytes (',
  bodyPieceBytesMax: 'taken in pieces',
  bucketsMax: 'throttle remembers',
  cachedBytesMax: 'into the cache of the system',
  clientRequestIdCharactersMax: 'x-ms-client-request-id',
  concurrencyMax: '--concurrency',
  configBytesMax: '| configuration ',
  foreignPageRangesMax: 'ranges of a page blob that is copied',
  snapshotsAtOnceMax: 'snapshots that a deletion takes along',
  countMax: '`queue get --count`',
  databaseBytesMax: 'each database file',
  depthMax: ' levels',
  digitsMax: 'digits of a number in a key template',
  discardedBytesMax: 'all others',
  effectsMax: 'effects',
  elementsMax: 'elements of an answer in XML',
  expirySecondsMax: 'life of a signature',
  failedStartsMax: 'starts of workers in a row',
  falseDelimitersMax: 'begin as a delimiter',
  filterDepthMax: 'inside of each other',
  filterLengthMax: 'characters of `$filter`',
  findingsMax: 'findings of `check`',
  foundBytesMax: 'page of found blobs',
  firstLineBytesMax: 'first line of a file of refused rows',
  fullCheckBytesMax: 'read as a whole at each start',
  headBytesMax: 'head of one part',
  headerBlockBytesMax: 'header fields of an answer to an insert',
  headerLinesMax: 'header lines of one part',
  hostCharactersMax: '`allowHosts` has at most',
  hostsMax: '`allowHosts` has at most',
  intervalsMax: 'ranges of keys that a plan reads',
  policyDaysMax: 'immutability policy',
  keepAliveSecondsMax: 'keep-alive time on the command line',
  keyBytesMax: 'set of keys of an issuer',
  keyCharactersMax: 'a key of one',
  keyFileBytesMax: 'key of an account',
  controlConnectionsMax: 'connections of the control API',
  copiesAtOnceMax: 'copies from other servers',
  pendingCopiesMax: 'copies from other servers',
  answersMax: 'answers of other servers',
  headMsMax: 'until another server has sent',
  silenceMsMax: 'until another server has sent',
  breaksMax: 'connections of one pending copy',
  pendingSecondsMax: 'a pending copy counts as that of a dead process',
  keySetSizeMax: 'ranges of keys that a plan reads',
  keysMax: 'set of keys of an issuer',
  latencyMsMax: 'latency',
  membersMax: 'Null members',
  messageBodyBytesMax: 'Put Message',
  putBlobBytesMax: 'body of Put Blob;',
  blockBytesMax: 'body of Put Block;',
  blockListBytesMax: 'body of Put Block List',
  summedRangeBytesMax: 'whose checksum is asked for',
  messageBytesMax: 'before the service checks it',
  messageTextBytesMax: 'Put Message',
  missedPulsesMax: 'leaves unanswered',
  listingMsMax: 'page of a list of blobs',
  logWaitingBytesMax: 'lines of request logs',
  mistakesMax: 'mistakes are told',
  namesMax: 'roles, and scopes',
  nestingMax: 'nesting of an entity in JSON',
  numberTextLengthMax: 'characters of a number',
  patternCharactersMax: 'characters of a pattern',
  patternsMax: 'effects',
  planningStepsMax: 'steps of planning',
  printedMax: 'refusals that an import prints',
  problemsShownMax: 'mistakes are told',
  reclaimedEntriesMax: 'a step of sweeping',
  reclaimedQueueEntriesMax: 'a step of sweeping',
  replyPieceBytesMax: 'sent in pieces',
  answerBytesMax: 'an answer that a command takes in',
  retryAfterSecondsMax: 'latency',
  rowBytesMax: 'one row',
  reservedBytesMax: 'leave free',
  rowCharactersMax: 'one row',
  rulesMax: 'fault rules',
  schemaBytesMax: 'schema in a database',
  searchMsMax: 'page of found blobs',
  seedBytesMax: '| seed ',
  seedBlobBytesMax: '| file of a blob of a seed ',
  deleteDelayMsMax: '`tableDeleteDelay`',
  skipDepthMax: 'member that is skipped',
  snapshotBytesMax: 'snapshots of a server',
  snapshotsMax: 'snapshots of a server',
  stateBytesMax: 'how far an import has come',
  storedTextBytesMax: 'text of a message in its files',
  unusualBytesMax: 'block list in an unusual form',
  tagExpressionDepthMax: 'parentheses in `x-ms-if-tags`',
  tlsFileBytesMax: '| certificate, key',
  tokenCharactersMax: 'characters of a bearer token',
  unwrittenMax: 'sums of metrics',
  waitingBytesMax: 'lines of the log that wait',
  waitingCommitsMax: 'commits that wait',
  workersMax: '`workers` is at most',
  xmlBodyBytesMax: 'Set Service Properties',
  xmlDepthMax: 'elements inside of each other',
  xmlElementsMax: 'elements of an XML document',
};

/** Limits of the protocol, which the server shares with the cloud service. */
const ofProtocol = new Set(
  (
    'committedBlocksMax leaseSecondsMax uncommittedBlocksMax uncommittedSecondsMax ' +
    'appendBlockBytesMax syncBytesMax appendedBlocksMax pageBlobBytesMax pageListRangesMax pageRangeBytesMax ' +
    'batchOperationsMax binaryBytesMax boundaryLengthMax changesMax clockSkewMsMax ' +
    'contentTypeLengthMax dateTimeMax dequeueCountMax entitySizeMax idLengthMax keyLengthMax ' +
    'listMax literalHeadersMax maxAgeSecondsMax memberLengthMax messagesPerRequestMax ' +
    'metadataBytesMax nameLengthMax originsMax pageSizeMax prefixedHeadersMax propertiesMax ' +
    'propertyNameLengthMax plainNameLengthMax retentionDaysMax sasIdentifierLengthMax ' +
    'selectNamesMax settingsBytesMax signedIdentifiersMax stringLengthMax timeoutSecondsMax ' +
    'validSecondsMax visibilitySecondsMax ' +
    'batchSubrequestsMax blobNameLengthMax blobNameSegmentsMax blockIdBytesMax blocksMax copySourceLengthMax ' +
    'documentLengthMax sequenceNumberMax tagNameLengthMax tagValueLengthMax tagsHeaderLengthMax tagsMax ' +
    'segmentsMax segmentBytesMax'
  ).split(' '),
);

/**
 * Limits that users never reach: sizes of caches, slices and buffers, retries that do not run out,
 * how much of something is shown; and limits that the pages of options name.
 */
const unnoticed = new Set(
  `
    addressBytesMax
    addressesMax
    arrivalTurnsMax
    base64LengthMax
    batchHeadBytesMax
    batchLeavesMax
    batchMax
    begunInTurnMax
    blockIdTextLengthMax
    branchesMax
    bytesAtOnceMax
    cachedTextLengthMax
    cachedTextsMax
    capacityMax
    charactersAtOnceMax
    checkedRangeBytesMax
    chunkBytesMax
    chunkElementsMax
    chunkEntriesMax
    chunkSegmentsMax
    collisionsMax
    commitMessagesMax
    comparedMax
    containersNamedMax
    contentPieceBytesMax
    copiedInlineBytesMax
    copiedRangesPerCommitMax
    countedMax
    cutsMax
    decimalLengthMax
    deferredMax
    deletedKeysMax
    deletedLogsMax
    downShareMax
    emptyMax
    endsMax
    escapeBytesMax
    exactDigitsMax
    failedAloneMax
    recentKeysMax
    runMsMax
    extentBytesMax
    extentIdLengthMax
    failuresMax
    fileBytesMax
    fileWriteBytesMax
    folderFilesMax
    foldersMax
    formatBytesMax
    frameBytesMax
    framingBytesMax
    freeFilesMax
    gatheredBytesMax
    generationMax
    givenCharactersMax
    groupBytesMax
    groupCommitsMax
    groupKeysMax
    growthBytesMax
    heldBytesMax
    heldRowsMax
    holdMsMax
    idMax
    identityLengthMax
    inlinePieceBytesMax
    instantBytesMax
    int32Max
    int32TextLengthMax
    itemsAtOnceMax
    jobsMax
    joinedBytesMax
    jsonBytesPerUnitMax
    keptBytesMax
    keptMax
    knownContainersMax
    knownVersionsMax
    layersMax
    leavesAtOnceMax
    linearSearchMax
    listBytesMax
    logBytesMax
    logNumberMax
    longHeadBytesMax
    lookedAtMax
    looksMax
    manyPropertiesMax
    mapPositionsMax
    markedNameLengthMax
    marksMax
    measuringsMax
    mediaTypeLengthMax
    microsMax
    minutesMax
    mistakesShownMax
    momentMax
    nameCharactersMax
    namesShownMax
    notesMax
    numberBytesMax
    openQueuesMax
    ownerBytesMax
    pageBytesMax
    pageEntriesMax
    pageItemsMax
    pageListsMax
    pageQueuesMax
    pageRangesPerCommitMax
    pageRowsMax
    pagesMax
    pairFileBytesMax
    partBytesMax
    partsMax
    passOverMax
    passedMax
    pathCharactersMax
    pauseMillisMax
    pauseMsMax
    pausesMax
    payloadBytesMax
    pendingRowsMax
    pipeWriteBytesMax
    placesMax
    pointBytesMax
    pointsMax
    portMax
    portionBytesMax
    portionEntriesMax
    queuesMax
    quietMsMax
    rateMax
    readMsMax
    readPieceBytesMax
    reasonLengthMax
    recordBytesMax
    recordSegmentsMax
    refusalMillisMax
    rememberedMax
    resumeMsMax
    roundsMax
    rowsMax
    runPagesMax
    runsMax
    secondsMax
    seedMax
    sampledBytesMax
    sharedBytesMax
    shortKeyBytesMax
    shortPageBytesMax
    shortPageMax
    shownCharactersMax
    sliceBytesMax
    sliceEntriesMax
    sliceRowsMax
    slotsMax
    smallBytesMax
    soughtMax
    sourceBytesMax
    subrequestsAtOnceMax
    syncsAtOnceMax
    systemTablesMax
    tablesAtOnceMax
    tagsBytesMax
    textBytesPerUnitMax
    textCharactersMax
    textShownMax
    timeMax
    timerMsMax
    toleranceSecondsMax
    topMax
    ttlSecondsMax
    turnBytesMax
    turnDeletionsMax
    unfinishedMax
    unknownVersionsMax
    unsyncedBytesMax
    valueCharactersMax
    verifiedTokensMax
    versionsAskedMax
    visitsMax
    waitMillisMax
    waitingMax
    waitingNumbersMax
    walksMax
    wordSumBytesMax
  `
    .trim()
    .split(/\s+/),
);
/** The same, for constants that share their name with a documented one. */
const unnoticedValues = new Set([
  'attemptsMax = 16',
  'attemptsMax = 3',
  'attemptsMax = 30',
  'attemptsMax = 4',
  'attemptsMax = 5',
  'bodyBytesMax = 4 * 1024 * 1024',
  'countMax = 2 ** 32 - 1',
  'countMax = Number.MAX_SAFE_INTEGER',
  'depthMax = 32',
  'headBytesMax = 64 * 1024',
  'hostCharactersMax = 262',
  'hostCharactersMax = 300',
  'keyBytesMax = 4026',
  'keyFileBytesMax = 64 * 1024',
  'rulesMax = 5',
]);

describe('docs/reference/limits.md', () => {
  const bounds = boundsOf('src');

  it('is asked about every bound of the sources', () => {
    assert.ok(bounds.length > 100);
    const unknown = bounds.filter(
      ({ name }) => !(name in documented) && !ofProtocol.has(name) && !unnoticed.has(name),
    );
    assert.deepEqual(unknown, [], 'write these into the page, or among those that nobody meets');
  });

  it('has the value of every bound that somebody can meet', () => {
    const missing = bounds.filter(({ name, expression }) => {
      const words = documented[name];
      if (words === undefined || unnoticedValues.has(`${name} = ${expression}`)) return false;
      const texts = textsOf(valueOf(expression));
      return !lines.some(
        (line) =>
          line.includes(words) &&
          texts.some((text) => new RegExp(`(?<![\\d,.])${text}(?!\\d|,\\d)`).test(line)),
      );
    });
    assert.deepEqual(missing, []);
  });
});
