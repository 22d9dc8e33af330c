/** What somebody outside the server does. Each has one function that does it over HTTP. */
export const STEPS = {
  annAttaches: 'Ann attaches',
  annLeaves: 'Ann leaves',
  bobAttaches: 'Bob attaches',
  bobLeaves: 'Bob leaves',
  gracePasses: 'the grace passes',
  cancel: 'somebody cancels',
  park: 'somebody parks it',
  answers: 'the model answers',
  calls: 'the model calls a tool',
  callsTwo: 'the model calls two tools',
  callsGuarded: 'the model calls the guarded tool',
  speaks: 'the model begins to speak',
  failsForNow: 'the model fails for now',
  breaksOff: 'the model breaks off',
  refuses: 'the model refuses',
  wantsAnHour: 'the model wants an hour of peace',
  firstChunkLate: 'the first chunk is late',
  fallsSilent: 'the model falls silent',
  toolAnswers: 'the tool answers',
  otherToolAnswers: 'the second tool answers',
  toolFails: 'the tool says that it failed',
  toolTimePasses: 'the time of the tool passes',
  totalPasses: 'the total passes',
  stepPasses: 'the time of the step passes',
  approve: 'somebody approves',
  approveAndAnswer: 'somebody approves and the tool answers',
  approveWithReason: 'somebody approves and says why',
  deny: 'somebody denies',
  approveAnother: 'somebody approves what nobody asked',
  denyAnother: 'somebody denies what nobody asked',
  approvalPasses: 'the time for the answer passes',
  reminderPasses: 'the time of the reminder passes',
  webhookApproves: 'the webhook approves',
  webhookDenies: 'the webhook denies',
  webhookFailsForNow: 'the webhook fails for now',
  webhookRefuses: 'the webhook refuses',
  chatBegins: 'a chat begins',
  terminate: 'the process is told to stop',
  interrupt: 'the process is interrupted as well',
  shutdownGracePasses: 'the grace of the shutdown passes',
} as const;

/** A start in a session that may be busy, by run and strategy. */
export const askStep = (run: string, strategy: string): string =>
  `run ${run} is started with on_busy ${strategy}`;

export const leftStep = (run: string): string => `the model answers run ${run}`;
