/** What an operator's command ends with. Scripts rely on them: a code may be added, none changed. */
export const EXIT = {
  done: 0,
  refused: 1,
  usage: 2,
  notFound: 3,
  conflict: 4,
  unreachable: 5,
  notAllowed: 6,
  interrupted: 130,
  terminated: 143,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Ends the help of each operator's command. */
export const EXIT_HELP = `
Exit codes:
  0    done
  1    the server refused; its message and code are on stderr
  2    wrong usage
  3    there is no such run, session or approval
  4    not in a state in which that can be done
  5    the server cannot be reached, or does not answer as Runwarden does
  6    not allowed: no key, a wrong key, or one without the scope
  130  interrupted (143: terminated); what was asked of the server stays asked
`;
