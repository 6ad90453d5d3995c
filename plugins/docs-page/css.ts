/** The style of the page, and what it changes of Swagger UI's. The script sets the class `dark-mode`, which Swagger UI needs. */
export const CSS = `:root {
  color-scheme: light;
  --back: #f5f7f9; --surface: #fff; --text: #1b2733; --muted: #55626f; --line: #d5dce3;
  --accent: #0a5cad; --on-accent: #fff; --error: #b3261e; --error-back: #fdecea; --code: #eef2f6;
}
:root.dark-mode {
  color-scheme: dark;
  --back: #12171d; --surface: #1a2129; --text: #e5eaef; --muted: #a2afbc; --line: #36424e;
  --accent: #7cb8ff; --on-accent: #10202f; --error: #ffb4ab; --error-back: #3b1b19; --code: #232c36;
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
[aria-busy] { cursor: progress; }
[aria-busy] main { opacity: 0.6; }
:root:root { background: var(--back); }
body { margin: 0; background: var(--back); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
code, pre, .operators, .type { font-family: ui-monospace, Menlo, Consolas, monospace; }
:focus-visible { outline: 3px solid var(--accent) !important; outline-offset: 2px; }

header { position: sticky; top: 0; z-index: 2; display: flex; flex-wrap: wrap; gap: 0.5rem 1.5rem; align-items: center; padding: 0.6rem 1.5rem; background: var(--surface); border-bottom: 1px solid var(--line); }
h1 { margin: 0; font-size: 1.1rem; overflow-wrap: anywhere; }
#form { margin-left: auto; }
#form, #choice { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; align-items: center; }
label { display: flex; gap: 0.5rem; align-items: center; font-size: 0.9rem; }
input, select, button { min-height: 2.25rem; padding: 0.25rem 0.6rem; font: inherit; font-size: 0.95rem; color: var(--text); background: var(--surface); border: 1px solid var(--muted); border-radius: 6px; }
input { width: 16rem; }
select { min-width: 5rem; max-width: 18rem; }
button { cursor: pointer; }
#form button:not([type]), #reference .btn.execute { color: var(--on-accent); background: var(--accent); border-color: var(--accent); font-weight: 600; }
button:hover { filter: brightness(0.93); }

body > main { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1.25rem; max-width: 100rem; margin: 0 auto; padding: 1.25rem 1.5rem 3rem; }
#message { max-width: 97rem; margin: 1rem auto 0; padding: 0.6rem 1rem; color: var(--error); background: var(--error-back); border-radius: 6px; width: calc(100% - 3rem); }
#message:empty { display: none; }
#status { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
main > section h2 { margin: 0; font-size: 1.4rem; line-height: 1.25; overflow-wrap: anywhere; }
main > section h3 { margin: 0; font-size: 1rem; }
main > section p { margin: 0.25rem 0 0.75rem; color: var(--muted); }
main > section pre { margin: 0; padding: 0.75rem 1rem; overflow: auto; font-size: 0.85rem; background: var(--code); border-radius: 6px; }
#start { max-width: 46rem; margin: 2rem auto; padding: 1.75rem 2rem; background: var(--surface); border: 1px solid var(--line); border-radius: 10px; }
#start ol { margin: 1rem 0 0; padding-left: 1.4rem; }
#start li { margin-bottom: 1rem; }
#start pre { margin: 0.5rem 0; }

.scroll { max-height: 18rem; overflow: auto; background: var(--surface); border: 1px solid var(--line); border-radius: 8px; }
main > section table { width: 100%; border-collapse: collapse; font-size: 0.875rem; }
main > section th, main > section td { padding: 0.35rem 0.75rem; text-align: left; vertical-align: top; border-top: 1px solid var(--line); overflow-wrap: break-word; }
main > section th { max-width: 20rem; }
main > section thead th { position: sticky; top: 0; border-top: 0; background: var(--code); white-space: nowrap; }
main > section td { color: var(--muted); }
main > section .operators { font-size: 0.8rem; color: var(--text); overflow-wrap: normal; }
main > section .type { font-size: 0.8rem; }

.box { margin-top: 0.5rem; background: var(--surface); border: 1px solid var(--line); border-radius: 8px; overflow: hidden; }
.bar { display: flex; gap: 1rem; align-items: center; justify-content: space-between; margin-bottom: 0.5rem; }
#curl p { margin: 0.5rem 0 0; font-size: 0.875rem; }

/* Swagger UI: the request and its answer side by side, and nothing else. Its own curl command would contain the token. */
#reference, #reference .opblock-title, #reference .btn, #reference .opblock .opblock-summary-description, #reference label, #reference table thead tr td { font-family: inherit; color: var(--text); }
#reference .wrapper { max-width: none; padding: 0; }
#reference .block { padding: 0; }
#reference .info, #reference .scheme-container, #reference .curl-command, #reference .opblock-tag, #reference .request-url,
#reference .opblock-summary button:not(.opblock-summary-control), #reference .opblock-summary .view-line-link, #reference .try-out,
#reference .opblock-body .opblock-section-header, #reference .parameters-container > .opblock-description-wrapper,
#reference .responses-inner > div > h4, #reference .responses-inner > div > div > h4, #reference .responses-inner > table,
#reference .live-responses-table thead, #reference .tab, #reference .response-undocumented, #reference .btn-clear { display: none; }
#reference .opblock.opblock-post { margin: 0; background: var(--surface); border: 1px solid var(--line); border-radius: 8px; box-shadow: none; }
#reference .opblock.opblock-post .opblock-summary { padding: 0.5rem 0.75rem; border-color: var(--line); }
#reference .opblock-summary-control { flex-wrap: wrap; gap: 0.25rem 0.5rem; }
#reference .opblock.opblock-post .opblock-summary-method { min-width: 0; padding: 0.2rem 0.6rem; color: var(--on-accent); background: var(--accent); text-shadow: none; }
#reference .opblock .opblock-summary-path { max-width: 100%; padding: 0; color: var(--text); overflow-wrap: anywhere; }
#reference .opblock .opblock-summary-description { color: var(--muted); text-align: left; }
#reference .opblock-body { display: grid; grid-template: auto auto auto 1fr / minmax(0, 1fr) minmax(0, 1fr); gap: 0 1.5rem; padding: 0.75rem; }
#reference .opblock-body > * { grid-area: 3 / 1; }
#reference .opblock-body > .opblock-section { grid-row: 2; }
#reference .opblock-body > .opblock-description-wrapper { grid-area: 1 / 1 / 2 / 3; padding: 0 0 0.75rem; margin: 0; }
#reference .opblock-body > .responses-wrapper { grid-area: 2 / 2 / 5; scroll-margin-top: 5rem; }
#reference .opblock-description-wrapper, #reference .opblock-description-wrapper p { padding: 0; margin: 0; font-size: 0.95rem; color: var(--text); overflow-wrap: anywhere; }
#reference .opblock-body .opblock-section-request-body > .opblock-description-wrapper { padding: 0; }
#reference .renderedMarkdown code { color: var(--text); background: var(--code); }
#reference .examples-select { display: flex; gap: 0.5rem; align-items: center; margin-bottom: 0.5rem; }
#reference .examples-select__section-label { margin: 0; white-space: nowrap; font-size: 0.9rem; font-weight: 400; }
#reference select { min-width: 0; margin: 0; padding: 0.35rem 2rem 0.35rem 0.6rem; border: 1px solid var(--muted); border-radius: 6px; box-shadow: none; font: inherit; font-size: 0.95rem; }
#reference .examples-select > select { flex: 1; max-width: 14rem; }
#reference .model-example { margin: 0; }
#reference .body-param textarea, #reference .opblock-body pre.microlight { min-height: 18rem; margin: 0; padding: 0.75rem 1rem; border: 1px solid var(--line); border-radius: 6px; font: 0.85rem/1.5 ui-monospace, Menlo, Consolas, monospace; }
#reference .body-param textarea { color: var(--text); background: var(--back); resize: vertical; }
#reference .opblock-body pre.microlight { max-height: 26rem; color: #e8edf2; background: #12161b !important; border-color: transparent; }
#reference .btn-group, #reference .execute-wrapper { padding: 0.75rem 0 0; text-align: left; }
#reference .btn.execute { flex: none; width: auto; padding: 0.5rem 2.5rem; border-radius: 6px; box-shadow: none; }
#reference .download-contents, #reference .highlight-code .copy-to-clipboard { background-color: #4a5563; }
#reference .responses-inner { padding: 0; }
#reference .responses-inner::before { content: "Answer"; display: block; margin: 0.35rem 0 0.9rem; font-size: 0.95rem; font-weight: 600; }
#reference .responses-inner:not(:has(.live-responses-table))::after { content: "It is shown here when you have pressed Execute."; color: var(--muted); }
#reference .live-responses-table { margin: 0; }
#reference .live-responses-table, #reference .live-responses-table tbody, #reference .live-responses-table tr, #reference .live-responses-table td { display: block; padding: 0; }
#reference .response-col_status { position: absolute; right: 0; top: 0.1rem; width: auto; min-width: 0; font-size: 0.95rem; font-weight: 600; color: var(--text); }
#reference .responses-inner { position: relative; }
#reference .response-col_description h5 { margin: 0.5rem 0; font-size: 0.85rem; color: var(--muted); }
#reference .response-col_description > div:first-child h5:first-child { display: none; }
#reference .response-col_description pre.microlight:not(.highlight-code > *) { min-height: 0; font-size: 0.75rem; }

@media (min-width: 75rem) {
  main > section .operators { white-space: nowrap; }
}
@media (max-width: 60rem) {
  #reference .opblock-body { display: block; }
  #reference .opblock-body > .responses-wrapper { margin-top: 1rem; scroll-margin-top: 0.5rem; }
}
@media (max-width: 45rem) {
  header { position: static; padding: 0.75rem 1rem; }
  #form { margin: 0; }
  #form, #choice { width: 100%; }
  #form label, #choice label { flex: 1; flex-basis: 100%; }
  label select, label input { flex: 1; width: 0; max-width: none; min-width: 8rem; }
  body > main { padding: 1rem 1rem 2rem; }
  #message { width: calc(100% - 2rem); }
  #start { margin: 0; padding: 1.25rem; }
  main > section table, main > section tbody, main > section tr { display: block; }
  main > section thead { display: none; }
  main > section tr { padding: 0.5rem 0.75rem; border-top: 1px solid var(--line); }
  main > section tr:first-child { border-top: 0; }
  main > section tbody th, main > section td { display: inline; padding: 0; margin-right: 0.6rem; border: 0; overflow-wrap: anywhere; }
  main > section .operators { display: block; }
}
@media (pointer: coarse) {
  input, select, button { min-height: 2.75rem; }
}
`
