from workings.check.document.coverage import Coverage as Coverage
from workings.check.document.finding import Finding as Finding
from workings.check.document.relation import Relation as Relation
from workings.check.report.report import Report as Report
from workings.check.run.checker import check as check
from workings.check.run.files import check_files as check_files
