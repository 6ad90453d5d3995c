/** What every part of the page uses: the service, the open database, and the place for dialogs and announcements. */
import { createContext, type ComponentChildren } from 'preact'
import { useContext, useLayoutEffect } from 'preact/hooks'
import type { NamedRequest } from './requests.ts'
import type { Service } from './service.ts'
import type { DatabaseDocument } from './table.ts'
import type { Route } from './route.ts'
import type { TabStorage } from './tab-storage.ts'

export interface Dialog {
  readonly title: string
  readonly content: ComponentChildren
  /** Called when it is closed in any way. */
  readonly onClose?: () => void
}

export interface Action { readonly label: string, readonly run: () => void }

export interface Stage {
  readonly service: Service
  readonly document: DatabaseDocument
  readonly storage: TabStorage
  /** Those that the token may call. */
  readonly requests: readonly NamedRequest[]
  /** Opens a table, or another request. */
  go (route: Route): void
  /** Shows a dialog; undefined closes it. */
  show (dialog: Dialog | undefined): void
  /** Tells what has happened, also to screen readers; and offers what can be done about it. */
  say (message: string, action?: Action): void
}

export const StageContext = createContext<Stage | undefined>(undefined)

export const useStage = (): Stage => useContext(StageContext) as Stage

/** The forms with something that was entered and not written yet. */
const held = new Set<object>()

/** While `isHeld`, leaving the form is asked about first. */
export function useHold (isHeld: boolean): void {
  useLayoutEffect(() => {
    if (!isHeld) return undefined
    const hold = {}
    held.add(hold)
    return () => held.delete(hold)
  }, [isHeld])
}

export const mayLeave = (): boolean => held.size === 0 || confirm('What you have entered is not written yet. Discard it?')

addEventListener('beforeunload', (event) => { if (held.size > 0) event.preventDefault() })
