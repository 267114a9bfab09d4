/** The account that every emulator of this service has; its key is public. */
export const developmentName = 'devstoreaccount1';
export const developmentKey =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
