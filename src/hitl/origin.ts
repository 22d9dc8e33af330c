import type { ApprovalOrigin } from '../../machines/vocabulary.ts';

/** Why a person is asked, as events and webhooks carry it. */
export type OriginFields =
  | { readonly kind: 'config_gate'; readonly matched_pattern: string }
  | { readonly kind: 'agent_requested'; readonly reason: string; readonly agent_name: string }
  | {
      readonly kind: 'elicitation';
      readonly server: string;
      readonly message: string;
      readonly schema: Readonly<Record<string, unknown>>;
    };

/** The same in the words of the charts. */
export function originOf(fields: OriginFields): ApprovalOrigin {
  switch (fields.kind) {
    case 'config_gate':
      return { kind: 'config_gate', matchedPattern: fields.matched_pattern };
    case 'agent_requested':
      return { kind: 'agent_requested', reason: fields.reason, agentName: fields.agent_name };
    case 'elicitation':
      return fields;
  }
}

/** The origin of an approval in the words of the wire. */
export function originFields(origin: ApprovalOrigin): OriginFields {
  switch (origin.kind) {
    case 'config_gate':
      return { kind: 'config_gate', matched_pattern: origin.matchedPattern };
    case 'agent_requested':
      return { kind: 'agent_requested', reason: origin.reason, agent_name: origin.agentName };
    case 'elicitation': {
      const { kind, server, message, schema } = origin;
      return { kind, server, message, schema };
    }
  }
}
