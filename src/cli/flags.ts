import { type Command, Option } from 'commander';
import { DEFAULTS } from '../config/defaults.ts';
import { type Setting, SETTINGS } from '../config/settings.ts';

/** What was typed, by long name without dashes. Reading the values is the configuration's part. */
export type CliFlags = Readonly<Record<string, string | boolean>>;

/** What the help of `--config` says beside its variable. */
export const CONFIG_NOTE = `default: ${DEFAULTS.configPath}`;

/**
 * Every flag that configures the server; the same for each command, so that checks see them all.
 * `note` ends the help of `--config`.
 */
export function addConfigOptions(command: Command, note: string): void {
  const help = `TOML file or directory of them (env: CONFIG_PATH, ${note})`;
  command.addOption(new Option('-c, --config <path>', help));
  for (const setting of Object.values(SETTINGS)) {
    if (setting.flag !== undefined) command.addOption(settingOption(setting));
  }
  command.addOption(new Option('-v, --verbose', 'log more'));
  command.addOption(new Option('-d, --debug', 'log everything'));
  // Known so that it is refused by name.
  command.addOption(new Option('--enable-a2a').hideHelp());
}

function settingOption({ flag, short, takes, help, env, fallback }: Setting<unknown>): Option {
  const names = `${short === undefined ? '' : `-${short}, `}--${flag} ${takes}`;
  const notes = [
    `env: ${env.join(' or ')}`,
    ...(fallback === undefined || typeof fallback === 'object' ? [] : [`default: ${fallback}`]),
  ];
  return new Option(names, `${help} (${notes.join(', ')})`);
}

export function flagsOf(command: Command): CliFlags {
  const values: Record<string, unknown> = command.opts();
  const flags: Record<string, string | boolean> = {};
  for (const option of command.options) {
    const value = values[option.attributeName()];
    const name = option.long?.slice(2);
    if (name !== undefined && (typeof value === 'string' || typeof value === 'boolean')) {
      flags[name] = value;
    }
  }
  return flags;
}
