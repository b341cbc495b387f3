//! How the page looks. Colours come from `chart::theme`.

/// Type, measure, tables; a phone; paper.
pub const CSS: &str = "\
*{box-sizing:border-box}\
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}\
body{margin:0 auto;padding:1.5rem 1.25rem 4rem;max-width:62rem;background:var(--ground);color:var(--text);\
font:16px/1.55 system-ui,-apple-system,\"Segoe UI\",\"DejaVu Sans\",sans-serif;overflow-wrap:anywhere}\
h1{font-size:1.7rem;line-height:1.25;margin:.2rem 0 .6rem;letter-spacing:-.01em}\
h2{font-size:1.25rem;line-height:1.3;margin:0 0 .8rem}\
h3{font-size:1rem;margin:1.6rem 0 .4rem}\
section{margin-top:2.6rem;padding-top:1.4rem;border-top:1px solid var(--grid)}\
p{margin:.5rem 0;max-width:46rem}\
a{color:var(--s0)}\
code,pre{font:.875em/1.5 ui-monospace,SFMono-Regular,Menlo,\"DejaVu Sans Mono\",monospace}\
pre{overflow-x:auto;padding:.8rem 1rem;border:1px solid var(--grid);border-radius:6px;white-space:pre-wrap}\
.setting,footer,figcaption,.muted{color:var(--muted)}\
.setting{font-size:.95rem}\
.warning{border-left:4px solid var(--s1);padding:.3rem .8rem;margin:.7rem 0}\
.answer{font-size:1.1rem}.answer p:first-child{font-size:1.25rem;line-height:1.45}\
nav{display:flex;flex-wrap:wrap;gap:.35rem 1.1rem;margin-top:1.1rem;font-size:.9rem}\
figure{margin:1.2rem 0}figure svg{display:block;width:100%;height:auto;max-width:60rem}\
figcaption{font-size:.9rem;margin-top:.5rem;max-width:46rem}figcaption b{color:var(--text);font-weight:600}\
.narrow{display:none}\
.panels{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,19rem),1fr));gap:1.4rem 1.6rem}\
.panels svg{max-width:26rem}.panels h3{margin:0 0 .5rem;font-size:.95rem}\
.scroll{overflow-x:auto;margin:1.1rem 0}\
table{border-collapse:collapse;font-size:.9rem;line-height:1.4;font-variant-numeric:tabular-nums;overflow-wrap:normal}\
caption{text-align:left;font-weight:600;padding:0 0 .45rem;caption-side:top}\
th,td{padding:.34rem .6rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--grid)}\
th:first-child{padding-left:0}\
thead th{font-weight:600;vertical-align:bottom;border-bottom:1px solid var(--muted)}\
tbody th{font-weight:400;min-width:9rem;max-width:20rem}td{max-width:24rem}\
.more{display:block;font-size:.85em;color:var(--muted)}.n{text-align:right;white-space:nowrap}thead .n{white-space:normal}\
dl{display:grid;grid-template-columns:minmax(8rem,max-content) 1fr;gap:.25rem 1.2rem;margin:.5rem 0;font-size:.95rem}\
dt{color:var(--muted)}dd{margin:0}\
ul{padding-left:1.2rem;max-width:46rem}li{margin:.25rem 0}\
.runs li{font-size:.95rem}.notes{font-size:.9rem}\
:focus-visible{outline:2px solid var(--s0);outline-offset:2px}\
@media screen and (max-width:40rem){body{padding:1rem 1rem 3rem}h1{font-size:1.35rem}.wide{display:none}.narrow{display:block}\
dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}\
.scroll{background:linear-gradient(to right,var(--ground) 30%,transparent),linear-gradient(to left,var(--ground) 30%,transparent) 100% 0,\
linear-gradient(to right,var(--grid),transparent),linear-gradient(to left,var(--grid),transparent) 100% 0;\
background-repeat:no-repeat;background-size:24px 100%,24px 100%,6px 100%,6px 100%;background-attachment:local,local,scroll,scroll}\
tbody th{min-width:7rem;max-width:11rem}th,td{padding:.34rem .5rem}}\
@media print{body{font-size:10pt;max-width:none;padding:0}nav,.narrow{display:none}section{break-inside:auto;margin-top:1.4rem}\
figure,tr,pre{break-inside:avoid}h2,h3,caption{break-after:avoid}.scroll{overflow:visible}table{font-size:7.5pt}th,td{padding:.2rem .4rem}\
a{color:inherit;text-decoration:none}}";
